"""One module a verb; each is imported only when its verb is called."""
