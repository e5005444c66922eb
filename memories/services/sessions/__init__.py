"""Sessions: transcripts, episodes, turns and working memory."""
