"""The offline chat examined: everyday messages of invented people, each with what its answer must hold and leave out."""
