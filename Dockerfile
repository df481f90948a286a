# The app for any engine of containers and for a Docker Space of Hugging Face: port 7860, user 1000,
# everything that is written below /data. See docs/deploy.md.
FROM python:3.11-slim

# MARIADB=mariadb-server adds the engine that cases in MySQL are executed on.
ARG MARIADB=""
# bubblewrap: untrusted programs; git: tasks of swe_bench; tini: reaps workers that outlive a parent.
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap ca-certificates git tini ${MARIADB} \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home --uid 1000 user && install -d -o user -g user /data

WORKDIR /app
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1

# A server of many threads keeps less memory with few arenas, and with one pool for all.
ENV MALLOC_ARENA_MAX=2 \
    ARROW_DEFAULT_MEMORY_POOL=system

# What others wrote comes first: it changes least, so that this layer is built seldom.
COPY pyproject.toml constraints.txt ./
RUN mkdir evalcore \
    && touch README.md LICENSE evalcore/__init__.py \
    && pip install --no-cache-dir -c constraints.txt -e '.[auth,charts,postgres,mysql]'

COPY LICENSE app.py ./
COPY .streamlit/config.toml .streamlit/
COPY datasets datasets
COPY data/shipped data/shipped
COPY examples examples
COPY evalcore evalcore
COPY pages pages
RUN python -m compileall -q app.py evalcore pages && evalcore --version

# The user may write to its home and to /data, and to nothing of the program.
USER user
ENV HOME=/home/user \
    EVALBOARD_DATA=/data \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=7860 \
    STREAMLIT_SERVER_HEADLESS=true
EXPOSE 7860

HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as ask; ask.urlopen('http://127.0.0.1:' + os.environ['STREAMLIT_SERVER_PORT'] + '/api/v1/health', timeout=4)"]

ENTRYPOINT ["tini", "--"]
CMD ["streamlit", "run", "app.py"]
