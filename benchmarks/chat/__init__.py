"""The offline chat examined: everyday messages of invented people, and what each answer must hold and leave out."""
