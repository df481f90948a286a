"""A checkout in the form of tau2-bench's sources, with words of our own."""

from __future__ import annotations

from pathlib import Path

TOOLS = '''
class ShopTools(ToolKitBase):
    def _find(self, order_id: str) -> str:
        """No tool."""

    @is_tool(ToolType.WRITE)
    def cancel_pending_order(self, order_id: str, reason: Reason) -> Order:
        """Cancel it.

        Only where it is pending.
        Ask first.

        Args:
            order_id: The order, such as '#W1'.
                With its sign.
            reason: Why.

        Returns:
            Order: The order.

        Raises:
            ValueError: If it is gone.
        """

    @is_tool(ToolType.READ)
    def list_all_product_types(self) -> str:
        """List them."""

    @is_tool(ToolType.WRITE)
    def change(self, rows: List[Row | dict], amount: int, fast: bool, kinds: list[str]) -> str:
        """Change rows.

        Args:
            rows: All of them.
        """
'''
MODELS = '''
Reason = Literal["no longer needed", "ordered by mistake"]

class Row(BaseModel):
    """One row."""

    number: str = Field(description="Its number.")
    share: float
'''
PHONE = '''
class TelecomUserTools(ToolKitBase):
    @is_tool(ToolType.READ)
    def check_status_bar(self) -> str:
        """Look at it."""

    @is_tool(ToolType.READ)
    def check_apn_settings(self) -> str:
        """Look at them."""
        return f"{name}: {address}\\nLeave them."

    @is_tool(ToolType.WRITE)
    def set_apn_settings(self, apn_settings: Union[Settings, dict], times: int = 2) -> str:
        """Set them."""

    @is_tool(ToolType.READ)
    def run_speed_test(self) -> str:
        """Try it."""
        if quality == "Poor":
            advice = "It crawls."
        elif quality == "Good":
            advice = "It runs."
        return f"{quality} {advice}"
'''
PHONE_MODELS = '''
class Names(str, Enum):
    FIRST = "first"
    OTHER = "other"

class Settings(BaseModelNoExtra):
    """All of them."""

    name: Names = Field(Names.OTHER, description="The name.")
    port: Optional[int] = Field(default=None, description="The port.")
    needed: Any
'''
BANK = """
from typing import Any

from tau2.domains.banking_knowledge.db_query import count_rows
from tau2.environment.toolkit import ToolKitBase, ToolType, is_discoverable_tool, is_tool

class KnowledgeTools(ToolKitBase):
    def __init__(self, db: Any) -> None:
        super().__init__(db)
        self._logged: set = set()

    def set_read_log_allowlist(self, names: Any) -> None:
        self._logged = names

    @is_tool(ToolType.READ)
    def get_user_information_by_id(self, user_id: str) -> str:
        \"\"\"Look.\"\"\"
        return f"{user_id}: {count_rows(self.db.users.data)} users, {len(self._logged)} logged"

    @is_tool(ToolType.WRITE)
    def change_user_email(self, user_id: str, new_email: str) -> str:
        \"\"\"Change.\"\"\"
        self.db.users.data[new_email] = {}
        return "done"

    @is_discoverable_tool(ToolType.READ)
    def hidden_0001(self) -> list:
        \"\"\"Hidden.\"\"\"
        return open("/etc/passwd").read()

class KnowledgeUserTools(ToolKitBase):
    @is_tool(ToolType.READ)
    def list_discoverable_user_tools(self) -> str:
        \"\"\"List.\"\"\"
        return ", ".join(self.db.users.data)
"""
BANK_SEARCHES = """
from tau2.environment.toolkit import ToolKitType, ToolType, is_tool

class KBSearchMixin(metaclass=ToolKitType):
    @is_tool(ToolType.READ)
    def KB_search(self, query: str) -> str:
        \"\"\"Search.\"\"\"
        done = self._kb_pipeline.retrieve(query, return_timing=True)
        return " ".join(f"{name}={score:.2f}" for name, score in done.results)

class GrepMixin(metaclass=ToolKitType):
    @is_tool(ToolType.READ)
    def grep(self, pattern: str) -> str:
        \"\"\"Match.\"\"\"
        return " ".join(name for name, _ in self._grep_pipeline.retrieve(pattern))
"""
BANK_HOME = "src/tau2/domains/banking_knowledge"
BANK_FILES = {
    f"{BANK_HOME}/tools.py": BANK,
    f"{BANK_HOME}/retrieval_mixins.py": BANK_SEARCHES,
    f"{BANK_HOME}/db_query.py": "def count_rows(rows):\n    return len(rows)\n",
    f"{BANK_HOME}/utils.py": "from tau2.utils.utils import DATA_DIR\nHOME = DATA_DIR / 'tau2'\n",
    f"{BANK_HOME}/data_model.py": "",
    **{
        f"data/tau2/domains/banking_knowledge/prompts/{name}.md": f"{name} {{{{component:head}}}}"
        for name in ("classic_rag_bm25", "classic_rag_bm25_no_grep", "grep_only", "no_knowledge")
    },
    "data/tau2/domains/banking_knowledge/prompts/required_docs.md": "<{{required_documents}}>",
    "data/tau2/domains/banking_knowledge/prompts/full_kb.md": "<{{full_knowledge_base}}>",
    "data/tau2/domains/banking_knowledge/prompts/components/head.md": "Be kind.",
}


def write_bank_sources(folder: Path) -> Path:
    for name, text in BANK_FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return write_sources(folder)


FILES = {
    "src/tau2/agent/llm_agent.py": '''
AGENT_INSTRUCTION = """
Serve.
""".strip()
SYSTEM_PROMPT = """
<do>{agent_instruction}</do>
<rules>{domain_policy}</rules>
""".strip()
''',
    "src/tau2/user/user_simulator.py": '''
SYSTEM_PROMPT = """
{global_user_sim_guidelines_with_persona}
<story>{instructions}</story>
""".strip()
''',
    "src/tau2/orchestrator/orchestrator.py": """
DEFAULT_FIRST_AGENT_MESSAGE = AssistantMessage(role="assistant", content="Welcome!", cost=0.0)
""",
    "src/tau2/config.py": """
DEFAULT_MAX_STEPS = 12
DEFAULT_MAX_ERRORS = 4
DEFAULT_LLM_TEMPERATURE_AGENT = 0.25
DEFAULT_LLM_TEMPERATURE_USER = 0.5
DEFAULT_SEED = 7
""",
    "data/tau2/user_simulator/simulation_guidelines.md": "Be a customer.<PERSONA_GUIDELINES>",
    "data/tau2/user_simulator/simulation_guidelines_tools.md": "Use tools.<PERSONA_GUIDELINES>",
    **{
        f"src/tau2/domains/{domain}/{name}.py": text
        for domain in ("retail", "airline", "telecom")
        for name, text in (("tools", TOOLS), ("data_model", MODELS))
    },
    "src/tau2/domains/telecom/user_tools.py": PHONE,
    "src/tau2/domains/telecom/user_data_model.py": PHONE_MODELS,
}


def write_sources(folder: Path, **changes: str) -> Path:
    """Write the files; `changes` replace those whose name ends so, and "" leaves one out."""
    for name, text in FILES.items():
        content = changes.get(Path(name).stem, text)
        if content:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    return folder
