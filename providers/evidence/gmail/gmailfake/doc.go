// Package gmailfake is a Gmail mailbox in memory that speaks the part of the Gmail
// API which the adapter asks for, with the token server in front of it:
// messages.list, messages.get, drafts.get and threads.get. It is for tests only.
//
// It owns its messages and the faults that it plays. As Gmail does, it searches
// words of the text and Message-IDs and no other header field; leaves Spam and
// Trash out unless asked; replaces the Message-ID of what is sent through the API;
// and deletes a draft when it is sent, with a new id for the message. What it
// leaves out: every method that changes something, and query operators that the
// adapter does not use.
package gmailfake
