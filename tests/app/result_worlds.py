"""Backends with results to look at: two groups that were asked the same tasks several times, one that goes on, and TrainingJobs."""

import json

from job_records import kept, pass_rate, score, training_job
from result_records import cases, group_of, results_of
from scripted_backend import ScriptedBackend

from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.meta import Resource

PLAIN = ("CCC", "CIC", "III", "CFC", "IVI", "CCI", "UCC", "ICI")
CAREFUL = ("CCC", "CCC", "ICI", "CCC", "III", "CCC", "CCC", "CCC")
GOING = ("CI", "RP", "PP")
HARNESS = {
    "job": "smol",
    "complete": True,
    "model": "hf://somebody/smol@1a2b3c",
    "scores": [],
    "tasks": {"arc_easy": {"version": 1, "samples": 8, "of": 2376, "fewshot": 5}, "sums": {"fewshot": 0, "samples": 8}},
}
JUDGED = {
    "job": "held-out",
    "complete": True,
    "environment": {
        "ciMethod": "Normal",
        "standardErrorMethod": "Bernoulli",
        "results": [
            {"taskId": "sum-1", "verdict": "Correct", "reward": 1.0, "message": "right"},
            {"taskId": "sum-2", "verdict": "InvalidOutput", "reward": 0.0, "message": "no number"},
            {"taskId": "sum-3", "verdict": None, "reward": None, "message": "the grader broke: \x1b[2J"},
        ],
    },
}


class ResultBackend(ScriptedBackend):
    """One that gives its runs by name as well."""

    async def get(self, kind: str, name: str) -> Resource:
        if kind == "AgentRun" and name in self.runs:
            return self.runs[name]
        return await super().get(kind, name)


def result_world() -> ResultBackend:
    made = [
        group_of("plain", PLAIN),
        group_of("careful", CAREFUL),
        group_of("elsewhere", CAREFUL, seed=8),
        group_of("going", GOING, phase=GroupPhase.RUNNING, pending=5, going=1, ended_at=None),
    ]
    told = {"plain": PLAIN, "careful": CAREFUL, "elsewhere": CAREFUL, "going": GOING}
    backend = ResultBackend(made, [each for name, tasks in told.items() for each in cases(name, tasks)])
    backend.group_answers = {each.name: results_of(each, cases(each.name, told[each.name])) for each in made}
    outputs = tuple(kept(f"outputs/{name}.json") for name in ("results", "provenance", "manifest"))
    metrics = (score(), score(metric="acc_norm", value=0.5, error=0.189), score("sums", "exact_match", 0.25, None))
    backend.training_jobs = {
        "smol": training_job("smol", phase="Succeeded", exit_code=0, scores=metrics, outputs=outputs),
        "held-out": training_job(
            "held-out", phase="Succeeded", exit_code=0, environment="nodus/arithmetic-v2@2.0.0", scores=pass_rate(), outputs=outputs
        ),
        "begun": training_job("begun"),
    }
    backend.contents = {"outputs/results.json": json.dumps(HARNESS).encode()}
    return backend


def judged_world() -> ResultBackend:
    """The results.json of a job that scored an Environment."""
    backend = result_world()
    backend.contents = {"outputs/results.json": json.dumps(JUDGED).encode()}
    return backend
