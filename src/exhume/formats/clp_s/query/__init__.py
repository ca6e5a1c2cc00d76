"""KQL: from the text of a query to the records that match."""
