"""Files that hold one document of a kind of their own: the configuration, a theme. The same reader, and every fault in one answer."""

from collections.abc import Callable, Iterable, Mapping

from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.spec_loading.fault_order import in_file_order, listed
from nodus_tui.contract.spec_loading.finding import Finding
from nodus_tui.contract.spec_loading.placing import Model, placed, validated
from nodus_tui.contract.spec_loading.sentences import shown, without_consequences
from nodus_tui.contract.spec_loading.yaml_reader import read_documents


def no_more(_value: Mapping[str, object]) -> tuple[Finding, ...]:
    """Nothing is wrong beyond what the model says."""
    return ()


def load_single(
    model: type[Model],
    file: str,
    text: bytes,
    *,
    what: str,
    empty: Model | None = None,
    also: Callable[[Mapping[str, object]], Iterable[Finding]] = no_more,
) -> Model:
    """The model that the only document of a file's text is, called a `what` in sentences; `empty` where there is no document.

    `also` finds more in the value as it was written, valid or not. Raises NodusError Configuration with every fault of the file.
    """
    read = read_documents(text, file)
    faults = list(read.faults)
    one_too_many = Finding((), f"a {what} file holds one document; take this one out")
    faults.extend(placed(one_too_many, document, file) for document in read.documents[1:])
    made = empty if not read.documents else None
    if read.documents and not read.documents[0].broken:
        document = read.documents[0]
        if isinstance(document.value, dict):
            made, found = validated(model, document.value, document)
            found = without_consequences([*found, *also(document.value)])
        else:
            found = [Finding((), f"a {what} is a mapping of fields, not {shown(document.value)}")]
        faults.extend(placed(finding, document, file) for finding in found if () not in document.spoiled)
    if not read.documents and made is None and not faults:
        faults.append(Fault(message=f"the file is empty; a {what} has fields", file=file, line=1, column=1))
    if faults or made is None:
        count = len(faults)
        detail = f"{count} fault{'s' if count != 1 else ''} in the {what} file {file}"
        raise NodusError(ErrorCode.CONFIGURATION, detail, listed(in_file_order(faults, (file,))))
    return made
