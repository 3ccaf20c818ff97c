"""Which files a model is made of, and the manifest of an evaluation's outputs: every file with its sha256. Blocking."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local_backend.jobs.replacing import replace_together

_PIECE = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


def sha256_of(path: Path) -> str:
    """Of a file's bytes. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_PIECE):
            digest.update(data)
    return digest.hexdigest()


def model_files(model: Path) -> dict[str, str]:
    """The sha256 of every file that a model is loaded from, by name. Raises OSError.

    The hub's cache names large files by theirs already: those are not read again.
    """
    if model.is_file():
        return {model.name: sha256_of(model)}
    found: dict[str, str] = {}
    for path in sorted(model.iterdir()):
        if not path.is_file():
            continue
        stored = path.resolve().name
        in_cache = path.is_symlink() and path.resolve().parent.name == "blobs" and _SHA256.fullmatch(stored)
        found[path.name] = stored if in_cache else sha256_of(path)
    return found


def fingerprint(files: dict[str, str]) -> str:
    """One digest over all of them."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def model_bytes(model: Path) -> int:
    """How much they are together. Raises OSError."""
    return model.stat().st_size if model.is_file() else sum(path.stat().st_size for path in model.iterdir() if path.is_file())


def has_chat_template(model: Path) -> bool:
    """Whether the model's tokenizer says how a conversation is written."""
    if model.is_file():
        return False
    if (model / "chat_template.jinja").is_file() or (model / "chat_template.json").is_file():
        return True
    try:
        return bool(json.loads((model / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template"))
    except (OSError, ValueError, AttributeError):
        return False


def write_records(folder: Path, documents: Mapping[str, Any], manifest: str) -> None:
    """Write documents into a folder, and under that name the manifest: path, bytes and sha256 of every other regular file below it.

    They take the places of older ones together (`replacing.py`). Raises OSError.
    """
    texts = {name: _text(document) for name, document in documents.items()}
    known = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    listed = {path.relative_to(folder).as_posix(): (path.stat().st_size, sha256_of(path)) for path in known}
    listed |= {name: (len(text), hashlib.sha256(text).hexdigest()) for name, text in texts.items()}
    files = [{"path": name, "bytes": size, "sha256": digest} for name, (size, digest) in sorted(listed.items()) if name != manifest]
    texts[manifest] = _text({"files": files})
    replace_together(folder, texts)


def write_json(path: Path, document: Any) -> None:
    """Write it for people and programs. Raises OSError."""
    path.write_bytes(_text(document))


def _text(document: Any) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
