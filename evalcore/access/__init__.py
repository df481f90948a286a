"""Who may do what: policy, login, passcodes, keys, redaction, network egress, uploads."""
