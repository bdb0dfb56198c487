package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAlive(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	listen := strings.TrimPrefix(s.URL, "http://")
	if err := alive(t.Context(), listen); err != nil {
		t.Errorf("a live server: %v", err)
	}
	if err := alive(t.Context(), strings.Replace(listen, "127.0.0.1", "0.0.0.0", 1)); err != nil {
		t.Errorf("a server on all addresses: %v", err)
	}
	status = http.StatusInternalServerError
	if err := alive(t.Context(), listen); err == nil {
		t.Error("a failing server is called alive")
	}
	s.Close()
	if err := alive(t.Context(), listen); err == nil {
		t.Error("a stopped server is called alive")
	}
}
