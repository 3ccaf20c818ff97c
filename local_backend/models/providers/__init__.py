"""One module a protocol, and what they share: the HTTP exchange with its classification of failures, and strict reading of answers."""
