"""One module a kind; `registry` lists them all."""
