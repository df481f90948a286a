"""Run in an environment with tau2-bench: databases of upstream's whose rows are copied when they
are first looked at, hashed as upstream hashes them.

Upstream copies and writes a whole database several times an episode; most rows of it nobody reads.
"""

import copy
import hashlib
import json


class BaseTable:
    """The rows of a table that all episodes begin with, and their texts."""

    def __init__(self, rows):
        self.rows, self._texts = rows, {}

    def text(self, key):
        """A row as upstream's hash writes it; None where there is none."""
        if key not in self._texts and key in self.rows:
            self._texts[key] = write_row(self.rows[key])
        return self._texts.get(key)


class Rows(dict):
    """The rows of a table in an episode."""

    def __init__(self, base):
        super().__init__(base.rows)
        self.base, self.own = base, set()

    def _own(self, key):
        if key in self.base.rows and key not in self.own and dict.__contains__(self, key):
            super().__setitem__(key, copy.deepcopy(self.base.rows[key]))
            self.own.add(key)

    def _own_all(self):
        for key in list(self):
            self._own(key)

    def __getitem__(self, key):
        self._own(key)
        return super().__getitem__(key)

    def __setitem__(self, key, row):
        self.own.add(key)
        super().__setitem__(key, row)

    def get(self, key, default=None):
        self._own(key)
        return super().get(key, default)

    def values(self):
        self._own_all()
        return super().values()

    def items(self):
        self._own_all()
        return super().items()

    def _refuse(self, *arguments, **words):
        raise NotImplementedError("a change of rows that nothing here keeps an account of")

    pop = popitem = setdefault = update = clear = copy = __ior__ = __or__ = _refuse

    def write(self):
        return join_texts(
            (key, write_row(super(Rows, self).__getitem__(key)))
            if key in self.own
            else (key, self.base.text(key))
            for key in sorted(self)
        )


def dump_row(row):
    return row.model_dump() if hasattr(row, "model_dump") else row


def write_row(row):
    return json.dumps(dump_row(row), sort_keys=True, default=str)


def join_texts(pairs):
    """An object of names and the texts of their values, as `json` writes it."""
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in pairs) + "}"


def find_tables(database):
    """The tables of a database by name, each as (its owner, the field that holds its rows)."""
    tables = {}
    for name in type(database).model_fields:
        field = getattr(database, name)
        tables[name] = (field, "data") if hasattr(field, "data") else (database, name)
    return tables


class BaseDatabase:
    """What episodes begin with. Raises AssertionError where it is hashed in another way than
    upstream hashes it."""

    def __init__(self, database):
        self.database = database
        self.tables = {
            name: BaseTable(getattr(*place)) for name, place in find_tables(database).items()
        }
        self.check_hash(self.fork())

    def fork(self):
        """A database for an episode."""
        fork = self.database.model_copy()
        for name, (owner, field) in find_tables(fork).items():
            if owner is not fork:
                owner = owner.model_copy()
                fork.__dict__[name] = owner
            owner.__dict__[field] = Rows(self.tables[name])
        return fork

    def check_hash(self, database):
        from tau2.utils import get_dict_hash

        assert self.hash(database) == get_dict_hash(database.model_dump())

    def hash(self, database):
        """As upstream hashes it."""
        from tau2.utils import get_dict_hash

        tables = find_tables(database)
        parts = []
        for name in sorted(tables):
            owner, field = tables[name]
            rows = getattr(owner, field)
            if not isinstance(rows, Rows):
                return get_dict_hash(database.model_dump())
            text = rows.write()
            if owner is not database:
                text = join_texts(
                    (each, text if each == field else write_row(getattr(owner, each)))
                    for each in sorted(type(owner).model_fields)
                )
            parts.append((name, text))
        return hashlib.sha256(join_texts(parts).encode()).hexdigest()

    def list_changes(self, database):
        """The rows that are not as in the beginning, None for those that are gone, by table."""
        changes = {}
        for name, place in find_tables(database).items():
            rows, base = getattr(*place), self.tables[name]
            looked = rows.own if isinstance(rows, Rows) else set(rows)
            changed = {
                key: dump_row(dict.__getitem__(rows, key))
                for key in looked
                if key in rows and write_row(dict.__getitem__(rows, key)) != base.text(key)
            }
            changed |= {key: None for key in base.rows if key not in rows}
            if changed:
                changes[name] = changed
        return changes
