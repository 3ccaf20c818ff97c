"""The database's tables and their versions. Money is whole nano-dollars; times are UTC text in RFC 3339 with microseconds.

Spend lives in `calls` and `runs`, verdicts in `runs`, paid words in `turns`; the status in `groups` is only the last one told.
No table holds an expected answer.
"""

MIGRATIONS: dict[int, str] = {
    1: """
CREATE TABLE resources (
  kind TEXT NOT NULL, name TEXT NOT NULL, document TEXT NOT NULL, status TEXT NOT NULL DEFAULT '{}',
  folder TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE agent_revisions (
  agent TEXT NOT NULL, revision INTEGER NOT NULL, spec TEXT NOT NULL, created_at TEXT NOT NULL,
  PRIMARY KEY (agent, revision)
) WITHOUT ROWID;
CREATE TABLE environment_digests (
  name TEXT NOT NULL, version TEXT NOT NULL, digest TEXT NOT NULL, first_used_at TEXT NOT NULL,
  PRIMARY KEY (name, version)
) WITHOUT ROWID;
CREATE TABLE groups (
  seq INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, metadata TEXT NOT NULL, spec TEXT NOT NULL,
  agent TEXT NOT NULL, agent_revision INTEGER NOT NULL, cap INTEGER NOT NULL, max_active INTEGER NOT NULL,
  environment TEXT NOT NULL, digest TEXT NOT NULL, model TEXT NOT NULL,
  phase TEXT NOT NULL, reason TEXT, message TEXT NOT NULL, needed INTEGER,
  created_at TEXT NOT NULL, started_at TEXT, ended_at TEXT, deadline_at TEXT,
  status TEXT NOT NULL
);
CREATE TABLE tasks (
  group_name TEXT NOT NULL, position INTEGER NOT NULL, task_id TEXT NOT NULL, prompts TEXT NOT NULL, metadata TEXT NOT NULL,
  PRIMARY KEY (group_name, position)
) WITHOUT ROWID;
CREATE TABLE runs (
  seq INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, group_name TEXT NOT NULL, case_index INTEGER NOT NULL, task_position INTEGER NOT NULL,
  task_id TEXT NOT NULL, repetition INTEGER NOT NULL, attempt INTEGER NOT NULL, predecessor TEXT, current INTEGER NOT NULL,
  phase TEXT NOT NULL, reason TEXT, message TEXT NOT NULL, until_at TEXT,
  verdict TEXT, reward REAL, grade_message TEXT NOT NULL,
  cap INTEGER NOT NULL, carried INTEGER NOT NULL, spent INTEGER NOT NULL, in_flight INTEGER NOT NULL, unconfirmed INTEGER NOT NULL,
  needed INTEGER,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, calls INTEGER NOT NULL, turns INTEGER NOT NULL,
  created_at TEXT NOT NULL, started_at TEXT, ended_at TEXT
);
CREATE INDEX runs_by_group ON runs (group_name, case_index, attempt);
CREATE TABLE calls (
  run TEXT NOT NULL, number INTEGER NOT NULL, turn INTEGER NOT NULL, attempt INTEGER NOT NULL, state TEXT NOT NULL,
  reserved INTEGER NOT NULL, cost INTEGER NOT NULL, input_bound INTEGER NOT NULL, usage TEXT, over_bound INTEGER NOT NULL,
  started_at TEXT NOT NULL, ended_at TEXT, stop_reason TEXT NOT NULL, error TEXT NOT NULL,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE TABLE turns (
  run TEXT NOT NULL, position INTEGER NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL, at TEXT NOT NULL, call INTEGER,
  PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE TABLE events (
  cursor INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, change TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  group_name TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT, request_id TEXT UNIQUE, form TEXT NOT NULL, payload TEXT NOT NULL, author TEXT NOT NULL,
  at TEXT NOT NULL, state TEXT NOT NULL, answer TEXT, done_at TEXT
);
CREATE INDEX open_requests ON requests (id) WHERE state = 'Asked';
""",
    2: """
ALTER TABLE runs ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET answered = 1 WHERE turns > 0 AND EXISTS (
  SELECT 1 FROM tasks WHERE tasks.group_name = runs.group_name AND tasks.position = runs.task_position
  AND runs.turns >= json_array_length(tasks.prompts)
);
ALTER TABLE runs ADD COLUMN sandbox TEXT NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN tools TEXT;
ALTER TABLE tasks ADD COLUMN workbench TEXT NOT NULL DEFAULT '';
""",
    3: """
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, metadata TEXT NOT NULL, spec TEXT NOT NULL, folder TEXT,
  cap INTEGER NOT NULL, rate INTEGER NOT NULL, cost INTEGER NOT NULL,
  phase TEXT NOT NULL, reason TEXT, message TEXT NOT NULL, exit_code INTEGER, outputs TEXT NOT NULL, notes TEXT NOT NULL,
  token TEXT NOT NULL, stop TEXT NOT NULL, created_at TEXT NOT NULL, started_at TEXT, ended_at TEXT
);
""",
    4: """
CREATE TABLE spend (
  hour TEXT NOT NULL, project TEXT NOT NULL, labels TEXT NOT NULL, model INTEGER NOT NULL, compute INTEGER NOT NULL,
  PRIMARY KEY (hour, project, labels)
) WITHOUT ROWID;
CREATE TABLE budget_states (
  name TEXT PRIMARY KEY, created_at TEXT NOT NULL, baseline INTEGER NOT NULL, period_started_at TEXT NOT NULL, told TEXT NOT NULL
) WITHOUT ROWID;
""",
    5: """
ALTER TABLE jobs ADD COLUMN kind TEXT NOT NULL DEFAULT 'Job';
ALTER TABLE jobs ADD COLUMN work TEXT NOT NULL DEFAULT '{}';
ALTER TABLE jobs ADD COLUMN choices TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN hardware TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN devices TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN progress REAL;
ALTER TABLE jobs ADD COLUMN scores TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN serving TEXT NOT NULL DEFAULT '{}';
ALTER TABLE jobs ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN cost_before INTEGER NOT NULL DEFAULT 0;
""",
    6: """
ALTER TABLE runs ADD COLUMN until_kind TEXT NOT NULL DEFAULT 'Exact';
ALTER TABLE jobs ADD COLUMN until_at TEXT;
ALTER TABLE jobs ADD COLUMN until_kind TEXT NOT NULL DEFAULT 'Exact';
ALTER TABLE jobs ADD COLUMN energy TEXT NOT NULL DEFAULT '{}';
""",
    7: """
CREATE TABLE sweeps (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, metadata TEXT NOT NULL, spec TEXT NOT NULL, folder TEXT,
  pins TEXT NOT NULL, cap INTEGER NOT NULL, max_parallel INTEGER NOT NULL, paused TEXT NOT NULL, killed INTEGER NOT NULL,
  phase TEXT NOT NULL, reason TEXT, message TEXT NOT NULL, needed INTEGER,
  created_at TEXT NOT NULL, started_at TEXT, ended_at TEXT, status TEXT NOT NULL
);
CREATE TABLE sweep_cells (
  sweep TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, axes TEXT NOT NULL, spec TEXT NOT NULL,
  cap INTEGER NOT NULL, spent INTEGER NOT NULL, state TEXT NOT NULL, launched INTEGER NOT NULL, asking INTEGER NOT NULL,
  asks TEXT NOT NULL, doomed INTEGER NOT NULL, phase TEXT NOT NULL, reason TEXT, message TEXT NOT NULL, broken INTEGER NOT NULL,
  simulated INTEGER NOT NULL, notional INTEGER NOT NULL, started_at TEXT, ended_at TEXT,
  PRIMARY KEY (sweep, place)
) WITHOUT ROWID;
""",
    8: """
CREATE TABLE speeds (
  hardware TEXT NOT NULL, model TEXT NOT NULL, samples INTEGER NOT NULL, seconds REAL NOT NULL, devices INTEGER NOT NULL,
  measured_at TEXT NOT NULL,
  PRIMARY KEY (hardware, model)
) WITHOUT ROWID;
""",
    9: """
ALTER TABLE runs ADD COLUMN rested_at TEXT;
""",
    10: """
CREATE TABLE sandboxes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, metadata TEXT NOT NULL, spec TEXT NOT NULL,
  cap INTEGER NOT NULL, rate INTEGER NOT NULL, cost INTEGER NOT NULL,
  phase TEXT NOT NULL, reason TEXT, message TEXT NOT NULL,
  engine TEXT NOT NULL, image TEXT NOT NULL, weaker INTEGER NOT NULL, kept INTEGER NOT NULL, notes TEXT NOT NULL, commands INTEGER NOT NULL,
  created_at TEXT NOT NULL, started_at TEXT, seen_at TEXT, idle_since TEXT, ended_at TEXT
);
""",
    11: """
ALTER TABLE jobs ADD COLUMN device_names TEXT NOT NULL DEFAULT '[]';
""",
    12: """
ALTER TABLE sandboxes ADD COLUMN until_at TEXT;
ALTER TABLE sandboxes ADD COLUMN until_kind TEXT NOT NULL DEFAULT 'Exact';
ALTER TABLE sandboxes ADD COLUMN hardware TEXT NOT NULL DEFAULT '';
ALTER TABLE sandboxes ADD COLUMN devices TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sandboxes ADD COLUMN device_names TEXT NOT NULL DEFAULT '[]';
""",
    13: """
ALTER TABLE runs ADD COLUMN stretches TEXT NOT NULL DEFAULT '[]';
""",
}
"""SQL that brings a database from the version before to the key's version."""

SCHEMA_VERSION = max(MIGRATIONS)
