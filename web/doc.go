// Package web holds the pages of Landed: one exported templ component per page,
// each with one struct argument, the parts they share, the URLs, and the
// sentences that stand for the journal's stable codes.
//
// It owns how things look and read. It decides nothing: package handlers builds
// the structs, with every time, amount and plural already formatted, and the
// pages only branch and loop. Page structs hold no map, no any and no context.
//
// Everything that a worker, a provider or a person wrote is hostile until shown:
// such values are Text, made by Visible or PrettyJSON, which turns control,
// bidirectional and invisible characters into marks and keeps padding from
// hiding what comes after it.
package web
