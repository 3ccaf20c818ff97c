"""The console in browsers: who may come in, the page, and a console process for each browser. It knows the contract only."""
