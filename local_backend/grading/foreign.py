"""Tests of task folders: they run as the agent's user, in the agent's work folder, as their formats have it.

So what an agent wrote runs, where a test calls it, as the same user as the test: it can do what the test can, its verdict included. That is
weaker than our own graders, and told with the results.
"""

from local_backend.environments.secret_tasks import Judgement, failure
from local_backend.environments.task_folders.outcomes import (
    LARGEST_OUTPUT,
    LARGEST_REWARD,
    OUTPUT_FILE,
    REWARD_JSON,
    REWARD_TEXT,
    from_pytest_output,
    from_reward_files,
)
from local_backend.environments.trials import Trial
from local_backend.sandboxes.interface import Sandbox, SandboxError, User
from local_backend.sandboxes.running import FILES_SECONDS, SandboxFileError, read_file, run

_NO_FILE = 41


async def judge_foreign(sandbox: Sandbox, trial: Trial) -> Judgement:
    """Run the tests, which lie in their folder already, and read what they left."""
    ended = await run(
        sandbox, trial.command, timeout=trial.limits.seconds, user=User.AGENT, cwd=sandbox.workdir, environ=dict(trial.environ)
    )
    if ended.timed_out:
        return failure(f"the task's tests did not finish within {trial.limits.seconds:g} seconds")
    # Nothing goes on writing while the outcome is read.
    await sandbox.kill_agent()
    if trial.kind == "terminal-bench":
        return from_pytest_output(await _tail(sandbox))
    found = {}
    for path in (REWARD_JSON, REWARD_TEXT):
        try:
            found[path] = await read_file(sandbox, path, user=User.AGENT, limit=LARGEST_REWARD)
        except SandboxFileError:
            continue
    return from_reward_files(found)


async def _tail(sandbox: Sandbox) -> str:
    script = f'test -f "$1" || exit {_NO_FILE}; exec tail -c {LARGEST_OUTPUT} -- "$1"'
    done = await run(sandbox, ("sh", "-c", script, "sh", OUTPUT_FILE), timeout=FILES_SECONDS, user=User.AGENT, keep=2 * LARGEST_OUTPUT + 2)
    if done.exit_code not in {0, _NO_FILE}:
        raise SandboxError(f"what the tests printed cannot be read (status {done.exit_code})")
    return done.stdout.decode("utf-8", "replace")
