"""How the Backend protocol looks over HTTP: the paths, the headers and the event stream. Both sides, and third parties, build on it.

Everything lies under `/v1`, speaks JSON under the contract's own camelCase names, and answers an error with RFC 9457 problem details
(`errors.Problem`, media type `application/problem+json`).

    GET    /v1/info?probe=false              BackendInfo; with probe=true after a trial of its sandboxes
    POST   /v1/apply?dryRun=false&author=…   YAML documents, or a packed bundle  → ApplyOutcome
    POST   /v1/estimate?minutesPerCase=10    the same bodies                     → {"estimates": […]}
    GET    /v1/resources/{kind}              Query as parameters                 → {"items": […], "nextAfter": ""}
    GET    /v1/resources/{kind}/{name}       the resource; a name may hold a slash
    GET    /v1/groups/{name}/results         GroupResults
    GET    /v1/sweeps/{name}/results         SweepResults: a sweep's cells, and what they have come to
    GET    /v1/runs/{name}/transcript?fromTurn=0   Transcript: the turns from this index on, and all calls
    GET    /v1/runs/{name}/files             the files of its work folder        → {"files": [FileEntry, …]}
    GET    /v1/runs/{name}/files/content?path=…   the bytes of one of them
    POST   /v1/actions                       an Action                           → ActionOutcome
    GET    /v1/snapshot?runsOf=…             Snapshot; without runsOf no runs, with it empty all runs
    GET    /v1/watch?after=0                 server-sent events: `id` is the cursor, `data` an EventBatch
    POST   /v1/stop-work?graceSeconds=10     stop what the scheduler works on; with &group=… (may be repeated) those groups alone
    GET    /v1/jobs/{name}/log?after=0&limit=65536&waitSeconds=0   JobLog: what it wrote; a negative `after` counts from the end
    GET    /v1/jobs/{name}/files             its outputs, once it has ended      → {"files": [FileEntry, …]}
    GET    /v1/jobs/{name}/files/content?path=…   the bytes of one of them
    GET    /v1/gpus?history=false&rates=true   HardwareView of the server's machine
    GET    /v1/metrics                       the same in figures and more, for Prometheus; only where the server was told to
    GET    /v1/sandboxes                     those on the server's machine       → {"sandboxes": [SandboxFact, …]}
    GET    /v1/sandboxes/{name}/files        the files of a Sandbox              → {"files": [FileEntry, …]}
    GET    /v1/sandboxes/{name}/files/content?path=…   the bytes of one of them
    POST   /v1/sandboxes/{name}/exec         an ExecRequest: start a command     → ExecSession
    GET    /v1/sandboxes/{name}/exec/{id}/output?after=0&waitSeconds=30   lines of ExecPiece, and last an ExecEnd
    POST   /v1/sandboxes/{name}/exec/{id}/input?offset=0&end=false        bytes for it  → ExecTaken
    POST   /v1/sandboxes/{name}/exec/{id}/terminal?rows=…&columns=…       its terminal has another size
    POST   /v1/sandboxes/{name}/exec/{id}/signal?signal=…                 HUP, INT, QUIT, TERM or KILL
    POST   /v1/sandboxes/reap                remove those of dead owners         → ReapOutcome
    POST   /v1/environments/check?reference=…   the gold check: lines of GoldCase; also &split=…&tasks=…&seed=0
    GET    /v1/environments/tasks?reference=…   tasks as agents see them: also &split=test&seed=0&after=0&limit=50   → TaskPage
    GET    /v1/scheduler?after=-65536&limit=65536   who does the work, how well, and its log; an operator's      → SchedulerView
    GET    /v1/openapi.json                  this, as an OpenAPI document

Over TCP every request carries a token (`Authorization: Bearer nodus_…`). A viewer's token may GET (but no probe, nothing of a
command, and not the scheduler's log), estimate, and apply with exactly `dryRun=true`; everything else needs an operator's. The token's
name stands as the author, whatever a request says. Over the unix socket the system says who is at the other end. Task files (an
Environment's `file`) are read on the server's machine, so only requests over the unix socket may name them; nor may others launch a Job
whose command runs on that machine itself, or that takes its folders or variables, or a Sandbox that takes some of these.

A file's bytes came from a sandbox: they are sent as `application/octet-stream`, to be saved and never shown. An answer that could not be
sent whole ends with its connection broken off, not with a proper end of the chunks. The gold check answers in lines of JSON, one a case,
as they come; an empty line means that it goes on. When it cannot go on, its last line is a Problem (the only lines with a `code`).
"""

PREFIX = "/v1"

YAML_TYPE = "application/yaml"
"""Body of `apply` and `estimate`: spec documents as a file holds them."""

BUNDLE_TYPE = "application/vnd.nodus.bundle+json"
"""Body of the same: documents with the places of their fields, so that a fault found by the server names the client's lines."""

PROBLEM_TYPE = "application/problem+json"

BYTES_TYPE = "application/octet-stream"
"""Of a file's bytes, whatever they are."""

LINES_TYPE = "application/x-ndjson"
"""Of the gold check, and of a command's output: one JSON object a line."""

IDEMPOTENCY_HEADER = "Idempotency-Key"
"""A POST that is repeated with the same key acts once and gives the first answer again."""

VERSION_HEADER = "Nodus-Version"
"""On every answer: the version of the program that gives it."""

LAST_EVENT_HEADER = "Last-Event-ID"
"""On `watch`: the cursor of the last event that arrived; it goes before the parameter `after`."""

BATCH_EVENT = "batch"
"""The name of the server-sent events that carry an EventBatch."""

PROBLEM_EVENT = "problem"
"""The name of the event that ends a stream which cannot go on: its `data` is a Problem. A stream may also just end: resume it."""

HEARTBEAT_SECONDS = 10.0
"""An idle `watch` sends a comment, and a gold check an empty line, this often, so that a dead link is noticed by both sides."""
