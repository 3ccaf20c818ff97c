"""Writing specs: what an editor of them knows. Tokens, places, proposals, templates, differences, files, drafts. No widget is in it."""
