//! Stage 2, moments: mergeable statistics of rows.
