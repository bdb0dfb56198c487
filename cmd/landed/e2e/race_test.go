//go:build race

package e2e_test

// raceDetector says that the test was built with it.
const raceDetector = true
