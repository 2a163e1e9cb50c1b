//! Every refusal and every service error has a status, a code and a line in `openapi.yaml`.
