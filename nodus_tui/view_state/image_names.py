"""Names of container images as people read them. Pure."""


def short_image(image: str) -> str:
    """An image with the first digits of its digest: whole ones fill a line, and `describe` shows them."""
    if image.startswith("sha256:"):  # Built on this machine: no name, an id.
        return f"{image[:14]}…"
    name, at, digest = image.partition("@")
    digits = digest.rpartition(":")[2]
    return f"{name}@{digits[:7]}…" if at and len(digits) > 7 else image
