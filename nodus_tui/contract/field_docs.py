"""The sentences that stand under the fields of a contract type, for schemas and help. Read from the source only when asked for."""

import ast
import inspect
from itertools import pairwise
from textwrap import dedent

from pydantic import BaseModel


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """What stands under each field, by the field's Python name; inherited fields are included."""
    docs: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            docs |= _own_docs(each)
    return {name: text for name, text in docs.items() if name in model.model_fields}


def _own_docs(model: type[BaseModel]) -> dict[str, str]:
    try:
        tree = ast.parse(dedent(inspect.getsource(model)))
    except (OSError, TypeError):
        # Without source, as in a frozen program, there is nothing to read, and a schema does without.
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(below.value.value)
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }
