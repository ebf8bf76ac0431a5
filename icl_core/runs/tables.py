"""The tables of the database (`icl_core.runs.database`), and their version.

SQLite keeps the statements as they are written here, and a database whose statements differ counts
as damaged: with a change of any of them `VERSION` must rise.
"""

VERSION = 2
TABLES = {
    "jobs": "CREATE TABLE jobs ("
    "key TEXT PRIMARY KEY, "  # of the run that the job makes
    "experiment TEXT NOT NULL, "
    "version INTEGER NOT NULL, "  # of the experiment
    "config TEXT NOT NULL, "  # the settings as JSON
    # JSON: the variables that its worker must have, see `jobs.table`
    "environment TEXT NOT NULL DEFAULT '{}', "
    "asked INTEGER NOT NULL, "  # nanoseconds since 1970
    "visitor TEXT NOT NULL, "  # whose turn it takes
    "turn INTEGER NOT NULL, "
    "later INTEGER NOT NULL, "  # whether it is queued behind all jobs that are not
    "status TEXT NOT NULL, "
    "progress TEXT NOT NULL, "  # what its worker wrote last, as JSON
    "changed REAL NOT NULL, "  # when that was, seconds since 1970
    "cancel TEXT NOT NULL)",  # empty, or how it is asked to be cancelled
    "watchers": "CREATE TABLE watchers ("
    "key TEXT NOT NULL, "  # of the job
    "who TEXT NOT NULL, "  # the page or terminal
    "seen REAL NOT NULL, "  # when it looked last, seconds since 1970
    "PRIMARY KEY (key, who))",
    "owners": "CREATE TABLE owners ("
    "item TEXT NOT NULL, "  # the key of a run or the digest of a document
    "visitor TEXT NOT NULL, "
    "added REAL NOT NULL, "  # seconds since 1970
    "PRIMARY KEY (item, visitor))",
    # "jobs" counts the changes of the table of that name, "requests" those that workers wait for
    "counters": "CREATE TABLE counters (name TEXT PRIMARY KEY, number INTEGER NOT NULL)",
}
KEPT = ("jobs", "watchers", "owners")  # whose rows are taken over from a damaged database
TRIGGERS = tuple(
    f"CREATE TRIGGER jobs_{change} AFTER {change} ON jobs BEGIN "
    "UPDATE counters SET number = number + 1 WHERE name = 'jobs'; END"
    for change in ("insert", "update", "delete")
)
