"""Reviews: the queue of open questions and the decisions about them."""
