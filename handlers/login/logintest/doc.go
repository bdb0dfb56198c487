// Package logintest signs people in for tests: the sandbox identity provider on a
// loopback port, with switches that make it break the rules one at a time, a
// session store in memory, a clock to turn, and a browser with a cookie jar. It
// is for tests only.
package logintest
