"""An exposed panel: the rows that are compared, the mistakes planted in it, the digits it keeps."""
