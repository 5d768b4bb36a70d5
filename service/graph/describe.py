DESCRIPTION = "The graph language."
