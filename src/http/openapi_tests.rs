//! The router and `openapi.yaml` say the same.
