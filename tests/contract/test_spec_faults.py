"""Faults of specs: each with its line, column, path, sentence and suggestion, and all of them in one answer."""

import subprocess
import sys
from decimal import Decimal

import pytest
from contract_examples import AGENT, BUDGET, ENVIRONMENT, EXAMPLES, GROUP, JOB, SANDBOX, SWEEP, TRAINING_JOB, changed, faults_of

from nodus_tui.contract.errors import Fault, NodusError
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.environment import TaskFields
from nodus_tui.contract.resources.registry import API_VERSIONS, KINDS
from nodus_tui.contract.spec_loading.fault_order import MAX_FAULTS
from nodus_tui.contract.spec_loading.loader import SpecSource, bundle_from_documents, load_specs


def only(faults: tuple[Fault, ...]) -> tuple[int, int, str, str, str]:
    (fault,) = faults
    return fault.line, fault.column, fault.path, fault.message, fault.suggestion


def test_every_kind_has_an_example_that_loads():
    assert list(EXAMPLES) == list(KINDS)
    bundle = load_specs([SpecSource("all.yaml", "---\n".join(EXAMPLES.values()).encode())])
    assert [document.resource.kind for document in bundle] == list(KINDS)
    assert [document.resource.api_version for document in bundle] == list(API_VERSIONS.values())
    assert [document.index for document in bundle] == list(range(len(KINDS)))
    assert all(type(document.resource) is KINDS[document.resource.kind] for document in bundle)


def test_a_configuration_that_is_given_as_a_spec_is_one_sentence():
    told = "this is no spec but a configuration (it has models, console): leave it out here, and name it in NODUS_CONFIG"
    assert only(faults_of("models: []\nother: 1\nconsole: {theme: dark}\n")) == (1, 1, "", told, "")
    # One field of a document, and it is taken for one.
    assert len(faults_of("models: []\nkind: Agent\n")) > 1


def test_a_loaded_document_knows_where_its_fields_stand():
    (document,) = load_specs([SpecSource("group.yaml", GROUP.encode())])
    assert isinstance(document.resource, AgentGroup)
    fault = document.fault(("spec", "evaluation", "environment"), "there is no such environment")
    assert (fault.file, fault.line, fault.column) == ("group.yaml", 10, 18)
    absent = document.fault(("spec", "evaluation", "nothing"), "not written")
    assert (absent.line, absent.column, absent.path) == (10, 5, "spec.evaluation.nothing")


OUTSIDE = '"../results" leads out of the job\'s folder: write a path below it, without a leading / and without ..'

CASES = [
    # wrong types
    (GROUP, "tasks: 50", 'tasks: "50"', 12, 12, "spec.evaluation.tasks", 'tasks is "50"; it must be a whole number, without quotes', ""),
    (GROUP, "tasks: 50", "tasks: 50.0", 12, 12, "spec.evaluation.tasks", "tasks is 50.0; it must be a whole number", ""),
    (GROUP, "tasks: 50", "tasks: true", 12, 12, "spec.evaluation.tasks", "tasks is true; it must be a whole number", ""),
    (GROUP, "tasks: 50", "tasks:", 12, 11, "spec.evaluation.tasks", "tasks is empty; it must be a whole number", ""),
    (GROUP, "tasks: 50", "tasks: [50]", 12, 12, "spec.evaluation.tasks", "tasks is a list; it must be a whole number", ""),
    (AGENT, "[haiku]", "haiku", 12, 15, "spec.model.families", 'families is "haiku"; it must be a list', ""),
    (AGENT, "[haiku]", "[haiku, 5]", 12, 23, "spec.model.families[1]", "families[1] is 5; it must be text: put it in quotes", "5"),
    (AGENT, "team: nlp", "team: 1.10", 6, 18, "metadata.labels.team", "team is 1.10; it must be text: put it in quotes", "1.10"),
    (ENVIRONMENT, "1.0.0", "1.0", 5, 12, "spec.version", "version is 1.0; it must be text: put it in quotes", "1.0"),
    # names of fields
    (GROUP, "maxActive", "max_active", 7, 3, "spec.max_active", 'spec has no field "max_active"', "maxActive"),
    (GROUP, "maxCostUSD", "maxCostUsd", 8, 3, "spec.maxCostUsd", 'spec has no field "maxCostUsd"', "maxCostUSD"),
    (GROUP, "maxCostUSD", "max_cost_usd", 8, 3, "spec.max_cost_usd", 'spec has no field "max_cost_usd"', "maxCostUSD"),
    (GROUP, "repetitions", "repetition", 13, 5, "spec.evaluation.repetition", 'spec.evaluation has no field "repetition"', "repetitions"),
    (GROUP, "metadata:", "metaData:", 3, 1, "metaData", 'a document has no field "metaData"', "metadata"),
    (GROUP, "kind:", "Kind:", 2, 1, "Kind", 'a document has no field "Kind"', "kind"),
    (
        *(AGENT, "maxTokens: 1024", "nonsense: 1", 13, 5, "spec.model.nonsense"),
        *('spec.model has no field "nonsense"; it has access, families, maxTokens, temperature', ""),
    ),
    (GROUP, "maxActive: 10", "timeout: 10m", 7, 3, "spec.timeout", 'spec has no field "timeout"; it belongs into evaluation', ""),
    (AGENT, "  system: |", "  temperature: |", 8, 3, "spec.temperature", 'spec has no field "temperature"; it belongs into model', ""),
    # missing
    (GROUP, '  maxCostUSD: "10.00"\n', "", 6, 3, "spec.maxCostUSD", "maxCostUSD is missing", ""),
    (GROUP, "    tasks: 50\n", "", 10, 5, "spec.evaluation.tasks", "tasks is missing", ""),
    (AGENT, "  name: worker\n", "", 4, 3, "metadata.name", "name is missing", ""),
    (AGENT, "apiVersion: nodus.dev/v1\n", "", 1, 1, "apiVersion", "apiVersion is missing; Agent has nodus.dev/v1", ""),
    # apiVersion and kind
    (AGENT, "nodus.dev/v1", "v1", 1, 13, "apiVersion", 'apiVersion is "v1"; Agent has nodus.dev/v1', "nodus.dev/v1"),
    (
        TRAINING_JOB,
        "v1beta1",
        "v1",
        1,
        13,
        "apiVersion",
        'apiVersion is "nodus.dev/v1"; TrainingJob has nodus.dev/v1beta1',
        "nodus.dev/v1beta1",
    ),
    (
        *(AGENT, "kind: Agent", "kind: agent", 2, 7, "kind"),
        'kind is "agent"; it must be Agent, AgentRun, AgentGroup, Environment, Budget, Sandbox, Sweep, Job or TrainingJob',
        "Agent",
    ),
    # durations
    (GROUP, "10m", "59s", 15, 14, "spec.evaluation.timeout", "59s is outside the allowed 1m to 24h", ""),
    (GROUP, "10m", "25h", 15, 14, "spec.evaluation.timeout", "25h is outside the allowed 1m to 24h", ""),
    (
        *(GROUP, "10m", "10 min", 15, 14, "spec.evaluation.timeout"),
        *('"10 min" is not a duration: write a whole number and a unit, such as 90s, 10m or 24h', ""),
    ),
    (
        *(GROUP, "10m", "600", 15, 14, "spec.evaluation.timeout"),
        *("timeout is 600; a duration is a whole number with its unit, such as 90s, 10m or 24h", "600s"),
    ),
    (
        SANDBOX,
        "2h",
        "5m",
        4,
        53,
        "spec.maxLifetime",
        "a lifetime of 5m ends before idleTimeout (10m) can; make idleTimeout the shorter one",
        "",
    ),
    # ranges
    (GROUP, "maxActive: 10", "maxActive: 0", 7, 14, "spec.maxActive", "maxActive is 0; it must be 1 to 1000", ""),
    (GROUP, "maxActive: 10", "maxActive: 1001", 7, 14, "spec.maxActive", "maxActive is 1001; it must be 1 to 1000", ""),
    (GROUP, "seed: 42", "seed: -1", 14, 11, "spec.evaluation.seed", "seed is -1; it must be 0 to 2147483647", ""),
    (GROUP, "tasks: 50", "tasks: 101", 12, 12, "spec.evaluation.tasks", "tasks is 101; it must be 1 to 100", ""),
    (
        *(GROUP, "repetitions: 2", "repetitions: 3", 13, 18, "spec.evaluation.repetitions"),
        *("tasks × repetitions is 150; one batch holds at most 100 cases (more is a Sweep with shards)", ""),
    ),
    (ENVIRONMENT, "0.5", "-0.5", 7, 38, "spec.grader.tolerance", "tolerance is -0.5; it must be at least 0", ""),
    (JOB, "image: harness:1", "cpus: 0", 5, 9, "spec.cpus", "cpus is 0; it must be above 0 and at most 256", ""),
    (SWEEP, "repetitions: 2", "repetitions: 65", 7, 16, "spec.repetitions", "repetitions is 65; it must be 1 to 64", ""),
    # money
    (
        GROUP,
        '"10.00"',
        "10.00",
        8,
        15,
        "spec.maxCostUSD",
        'maxCostUSD is 10.00; money is a decimal text in quotes, such as "0.10"',
        "10.00",
    ),
    (GROUP, '"10.00"', "10", 8, 15, "spec.maxCostUSD", 'maxCostUSD is 10; money is a decimal text in quotes, such as "0.10"', "10"),
    (GROUP, '"10.00"', "true", 8, 15, "spec.maxCostUSD", 'maxCostUSD is true; money is a decimal text in quotes, such as "0.10"', ""),
    (GROUP, '"10.00"', '"0.00"', 8, 15, "spec.maxCostUSD", "the amount must be above zero", ""),
    (
        *(GROUP, '"10.00"', '"0.0000000001"', 8, 15, "spec.maxCostUSD"),
        *("0.0000000001 has a fraction of a nano-dollar: at most nine digits after the point", ""),
    ),
    (
        *(GROUP, '"10.00"', '"ten"', 8, 15, "spec.maxCostUSD"),
        *('"ten" is not an amount in US dollars: write digits and at most one point, such as "0.10"', ""),
    ),
    # choices
    (GROUP, "split: test", "split: tset", 11, 12, "spec.evaluation.split", 'split is "tset"; it must be train or test', "test"),
    (GROUP, "split: test", "split: dev", 11, 12, "spec.evaluation.split", 'split is "dev"; it must be train or test', ""),
    (
        *(ENVIRONMENT, "numeric", "nummeric", 7, 18, "spec.grader.type"),
        *('type is "nummeric"; it must be exact, numeric, choice, regex, json, program or pytest', "numeric"),
    ),
    (
        ENVIRONMENT,
        "type: numeric, ",
        "",
        7,
        11,
        "spec.grader.type",
        "type is missing; it must be exact, numeric, choice, regex, json, program or pytest",
        "",
    ),
    (
        *(ENVIRONMENT, "tolerance: 0.5", "ignoreCase: 1", 7, 27, "spec.grader.ignoreCase"),
        *('spec.grader has no field "ignoreCase"; it has answerPattern, type, tolerance, relativeTolerance', ""),
    ),
    # names, references, patterns
    (
        *(AGENT, "name: worker", "name: The Worker", 4, 9, "metadata.name"),
        '"The Worker" is no name: a name has 1 to 63 small letters, digits, dots and hyphens, and starts and ends with a letter or digit',
        "",
    ),
    (
        *(GROUP, "nodus/arithmetic-v2@2.0.0", "nodus/arithmetic-v2", 10, 18, "spec.evaluation.environment"),
        *('"nodus/arithmetic-v2" is not name@version, such as nodus/arithmetic-v2@2.0.0', ""),
    ),
    (
        *(ENVIRONMENT, "'answer: (\\d+)'", "'('", 7, 58, "spec.grader.answerPattern"),
        *('"(" is no regular expression: missing ), unterminated subpattern at position 0', ""),
    ),
    (
        *(ENVIRONMENT, "'answer: (\\d+)'", "'(a)(b)'", 7, 58, "spec.grader.answerPattern"),
        *('"(a)(b)" has 2 groups; at most one says which part counts', ""),
    ),
    # rules over several fields
    (
        *(GROUP, GROUP[GROUP.index("  evaluation:") :], "", 6, 3, "spec.inputs"),
        *("a group has either evaluation or inputs, exactly one of the two", ""),
    ),
    (
        *(GROUP, "  maxActive: 10", "  inputs: [{id: a, prompt: x}]", 7, 11, "spec.inputs"),
        *("a group has either evaluation or inputs, exactly one of the two", ""),
    ),
    (BUDGET, "[50, 80, 100]", "[80, 50]", 12, 15, "spec.thresholds", "thresholds must rise, each named once, such as [50, 80, 100]", ""),
    (
        *(BUDGET, "leads@example.com", "leads", 14, 14, "spec.notify.emails[0]"),
        *('"leads" is no e-mail address, such as name@example.com', ""),
    ),
    (JOB, "[results]", "[../results]", 11, 13, "spec.outputs[0]", OUTSIDE, ""),
    (
        *(JOB, 'WORKERS: "4"', '4WORKERS: "4"', 9, 9, "spec.env.4WORKERS"),
        *('"4WORKERS" is no environment variable\'s name: letters, digits and underscores, no digit first', ""),
    ),
    (
        *(JOB, "  image: harness:1\n  command: [run, --all]\n", "", 5, 3, "spec.command"),
        *("a job needs an image, a command, or both", ""),
    ),
    (
        *(TRAINING_JOB, "tasks: [arc_easy], ", "", 5, 3, "spec.environment"),
        *("an evaluation scores either parameters.tasks or environment, exactly one of the two", ""),
    ),
    (
        *(TRAINING_JOB, "  mode: Evaluate", "  environment: nodus/arithmetic-v2@2.0.0", 6, 16, "spec.environment"),
        *("an evaluation scores either parameters.tasks or environment, exactly one of the two", ""),
    ),
    (TRAINING_JOB, "nodus/evaluate", "nodus/sft", 5, 12, "spec.runtime", 'runtime is "nodus/sft"; it must be nodus/evaluate', ""),
    (
        *(TRAINING_JOB, "family: sums", "family: [sums]", 8, 68, "spec.parameters.taskFilter.family"),
        *("family is a list; it must be text, true or false, a whole number or a number", ""),
    ),
    (
        *(SWEEP, "kind: AgentGroup\n    spec:\n", "kind: AgentGruop\n    spec:\n", 9, 11, "spec.template.kind"),
        *('kind is "AgentGruop"; it must be AgentGroup, Job or TrainingJob', "AgentGroup"),
    ),
    (SWEEP, "tasks: 50", "tasks: 0", 13, 67, "spec.template.spec.evaluation.tasks", "tasks is 0; it must be 1 to 100", ""),
    (
        *(SWEEP, "shards: 2", "shards: 1000", 7, 16, "spec.repetitions"),
        *("the matrix and its repetitions make 4000 cells; a sweep holds at most 1000", ""),
    ),
    (SWEEP, "shards: 2", "parameters: {a: [1]}", 15, 5, "spec.matrix", "parameters are an axis of a Job or TrainingJob template only", ""),
]


@pytest.mark.parametrize(("spec", "old", "new", "line", "column", "path", "message", "suggestion"), CASES)
def test_one_fault_is_told_where_it_stands(spec, old, new, line, column, path, message, suggestion):
    found = only(faults_of(changed(spec, old, new)))
    assert found == (line, column, path, message, suggestion)
    assert "Input should" not in message
    assert "pydantic" not in message


MANY = """\
apiVersion: v1
kind: AgentGroup
metadata: {name: Bad_Name, lables: {}}
spec:
  agent: 5
  maxActive: 1001
  maxCostUsd: "1.00"
  evaluation:
    environment: sums
    tasks: 60
    repetitions: 2
    timeout: 59s
    split: tset
    sede: 1
extra: 1
---
a: [
---
apiVersion: nodus.dev/v1
kind: Foo
metadata: {nam: x}
---
just text
---
apiVersion: nodus.dev/v1
kind: Agent
metadata: {name: worker}
spec:
  model: {families: [], maxTokens: *many}
  model: {}
"""


def test_all_faults_of_all_documents_come_in_one_answer_in_order():
    faults = faults_of(MANY, changed(AGENT, "maxTokens: 1024", "maxTokens: 0"))
    assert [(fault.file, fault.document, fault.line, fault.column, fault.path) for fault in faults] == [
        ("0.yaml", 0, 1, 13, "apiVersion"),
        ("0.yaml", 0, 3, 18, "metadata.name"),
        ("0.yaml", 0, 3, 28, "metadata.lables"),
        ("0.yaml", 0, 5, 10, "spec.agent"),
        ("0.yaml", 0, 6, 14, "spec.maxActive"),
        ("0.yaml", 0, 7, 3, "spec.maxCostUsd"),
        ("0.yaml", 0, 9, 18, "spec.evaluation.environment"),
        ("0.yaml", 0, 11, 18, "spec.evaluation.repetitions"),
        ("0.yaml", 0, 12, 14, "spec.evaluation.timeout"),
        ("0.yaml", 0, 13, 12, "spec.evaluation.split"),
        ("0.yaml", 0, 14, 5, "spec.evaluation.sede"),
        ("0.yaml", 0, 15, 1, "extra"),
        ("0.yaml", 1, 17, 4, ""),
        ("0.yaml", 2, 19, 1, "spec"),
        ("0.yaml", 2, 20, 7, "kind"),
        ("0.yaml", 2, 21, 12, "metadata.nam"),
        ("0.yaml", 3, 23, 1, ""),
        ("0.yaml", 4, 29, 21, "spec.model.families"),
        ("0.yaml", 4, 29, 36, "spec.model.maxTokens"),
        ("0.yaml", 4, 30, 3, "spec.model"),
        ("1.yaml", 0, 4, 9, "metadata.name"),
        ("1.yaml", 0, 13, 16, "spec.model.maxTokens"),
    ]
    with pytest.raises(NodusError, match="22 faults in the spec; nothing was changed"):
        load_specs([SpecSource("0.yaml", MANY.encode()), SpecSource("1.yaml", changed(AGENT, "maxTokens: 1024", "maxTokens: 0").encode())])


def test_a_fault_reads_as_compilers_print_it():
    (fault,) = faults_of(changed(GROUP, "maxActive", "max_active"))
    assert fault.sentence() == '0.yaml:7:3: spec.max_active: spec has no field "max_active" (did you mean "maxActive"?)'


def test_two_documents_of_one_kind_and_name_are_told_with_both_places():
    assert only(faults_of(AGENT, GROUP + "---\n" + AGENT)) == (
        *(20, 9, "metadata.name"),
        *('Agent "worker" stands here (1.yaml:20) and in 0.yaml:4; give one of them another name', ""),
    )


def test_the_same_name_for_two_kinds_is_no_fault():
    assert faults_of(AGENT, changed(GROUP, "name: sums", "name: worker")) == ()


def test_a_name_twice_is_told_although_the_documents_have_other_faults():
    broken = changed(AGENT, "maxTokens: 1024", "maxTokens: 0")
    assert [fault.path for fault in faults_of(broken, broken)] == ["spec.model.maxTokens", "metadata.name", "spec.model.maxTokens"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n"])
def test_a_file_without_a_document_is_a_fault(text):
    assert only(faults_of(text)) == (1, 1, "", "the file holds no document", "")


def test_a_document_that_is_no_mapping_is_a_fault():
    message = "a document is a mapping with apiVersion, kind, metadata and spec, not a list"
    assert only(faults_of("- a\n- b\n")) == (1, 1, "", message, "")


def test_empty_documents_between_others_are_ignored():
    assert faults_of(f"---\n{AGENT}---\n---\n# nothing\n---\n{GROUP}---\n") == ()


def test_a_status_in_a_file_is_dropped_whatever_it_holds():
    bundle = load_specs([SpecSource("a.yaml", (AGENT + "status: {revision: 3, anything: [1, 2]}\n").encode())])
    assert [document.resource.status for document in bundle] == [None]


def test_a_field_is_not_told_as_missing_when_a_merge_key_was_to_give_it():
    text = "apiVersion: nodus.dev/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  <<: *common\n"
    assert [fault.path for fault in faults_of(text)] == ["spec"]


def test_a_very_faulty_file_is_cut_and_says_so():
    text = AGENT + "".join(f"field{number}: 1\n" for number in range(300))
    faults = faults_of(text)
    assert len(faults) == MAX_FAULTS + 1
    assert faults[-1].message == "100 more faults are not listed here"


def test_messages_show_control_characters_and_cut_long_values():
    (fault,) = faults_of(changed(GROUP, "split: test", 'split: "\\e]52;c;' + "x" * 500 + '"'))
    assert "\x1b" not in fault.sentence()
    assert "\\x1b]52" in fault.message
    assert len(fault.message) < 150
    (fault,) = faults_of(AGENT + '"\\e[31m' + "k" * 500 + '": 1\n')
    assert "\x1b" not in fault.sentence()
    assert len(fault.path) < 100


def test_fields_keep_exact_values():
    (document,) = load_specs([SpecSource("agent.yaml", AGENT.encode())])
    assert isinstance(document.resource, Agent)
    assert document.resource.spec.per_run_max_cost_usd == Decimal("0.10")
    assert document.resource.spec.system == "Follow the task's answer format.\n"


def test_documents_of_a_program_follow_the_same_rules():
    document = {
        "apiVersion": "nodus.dev/v1",
        "kind": "AgentGroup",
        "metadata": {"name": "sums"},
        "spec": {"agent": "worker", "maxCostUSD": Decimal("0.2"), "evaluation": {"environment": "a@1", "tasks": 2}},
    }
    (loaded,) = bundle_from_documents([document])
    assert (loaded.file, loaded.index, loaded.folder) == ("<sdk>", 0, None)
    with pytest.raises(NodusError) as caught:
        bundle_from_documents([document, document, {**document, "spec": {"agent": {1, 2}, 5: 6, "maxActive": float("nan"), "max": 1}}])
    assert [(fault.document, fault.path, fault.line) for fault in caught.value.faults] == [
        (1, "metadata.name", 0),
        (2, "spec.agent", 0),
        (2, "spec", 0),
        (2, "spec.maxActive", 0),
        (2, "spec.maxCostUSD", 0),
        (2, "spec.inputs", 0),
        (2, "spec.max", 0),
        (2, "metadata.name", 0),
    ]


def test_a_document_that_holds_itself_ends():
    document: dict[str, object] = {"apiVersion": "nodus.dev/v1", "kind": "Agent", "metadata": {"name": "a"}}
    document["spec"] = [document, document]
    with pytest.raises(NodusError) as caught:
        bundle_from_documents([document])
    assert caught.value.faults


def test_the_loader_imports_nothing_heavy():
    code = (
        "import sys, nodus_tui.contract.spec_loading.loader, nodus_tui.contract.spec_loading.files;"
        "print(*sorted({'rapidfuzz', 'asyncio', 'rich', 'textual', 'aiohttp', 'sqlite3'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == ""


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ("  file: tasks.jsonl\n", "", "spec.file", "file is missing; it names the task file"),
        ("  file: tasks.jsonl\n", "  file: tasks.jsonl\n  folder: tasks\n  layout: harbor\n", "spec.file", "give one of the two"),
        ("file: tasks.jsonl", "folder: tasks", "spec.layout", "layout is missing"),
        ("file: tasks.jsonl", "folder: tasks\n  layout: harbor", "spec.grader", "leave grader out"),
        ("  file:", "  layout: harbor\n  file:", "spec.layout", "a layout needs a folder"),
        ("grader: {type: numeric, tolerance: 0.5, answerPattern: 'answer: (\\d+)'}", "description: x", "spec.grader", "grader is missing"),
        (
            "{type: numeric, tolerance: 0.5, answerPattern: 'answer: (\\d+)'}",
            "{type: program}",
            "spec.grader.command",
            "command is missing",
        ),
        (
            "{type: numeric, tolerance: 0.5, answerPattern: 'answer: (\\d+)'}",
            "{type: pytest, solutionFile: ../x.py}",
            "spec.grader.solutionFile",
            "below the work folder",
        ),
        (
            "{type: numeric, tolerance: 0.5, answerPattern: 'answer: (\\d+)'}",
            "{type: pytest, timeout: 25h}",
            "spec.grader.timeout",
            "outside the allowed",
        ),
    ],
)
def test_where_tasks_come_from_and_who_grades_them(old: str, new: str, path: str, message: str) -> None:
    text = EXAMPLES["Environment"].replace(old, new, 1)
    assert text != EXAMPLES["Environment"]
    found = [fault for fault in faults_of(text) if fault.path == path]
    assert [message in fault.message for fault in found] == [True]
    assert all(fault.line for fault in found)


def test_columns_that_few_files_have() -> None:
    fields = TaskFields.model_validate({"answer": "solution", "tests": "hidden"})
    assert [fields.column(role) for role in ("files", "tests", "solution")] == ["files", "hidden", None]
    with pytest.raises(ValueError, match="the same name"):
        TaskFields.model_validate({"answer": "solution", "solution": "solution"})
