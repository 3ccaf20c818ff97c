"""The HTTP API over a Backend: who may ask what (access, tokens), the routes, the event stream, and the sockets that it is served on."""
