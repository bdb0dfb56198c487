package dbosworker_test

// childEnv makes the test binary a child process that a test can kill.
const childEnv = "LANDED_DBOS_CHILD"

func runChild(string) {}
