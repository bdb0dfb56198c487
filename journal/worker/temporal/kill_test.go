package temporal_test

const victimEnv = "LANDED_TEST_VICTIM"

func beVictim(string) error { return nil }
