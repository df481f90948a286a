"""One reader per kind of file: bytes and what is asked in, text out.

They run in the locked worker process only (see `service`), and raise Unreadable or whatever their
libraries raise for a broken file.
"""
