package codex_test

const fakeVariable = "HARNESS_FAKE_CODEX"

func fakeCodex(mode string) int { return 0 }
