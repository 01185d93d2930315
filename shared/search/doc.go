// Package search searches the texts of agents and people: tasks, questions, messages, councils, fires and
// verifications.
//
// The store keeps an index of the words of documents, in the commit of each change; the collections declare the text
// that has the words. The domain of each document decides whether a caller may read it (domain.Searches), after the
// document is read, so the search shows nothing that a read would not. The package only parses the query, asks both,
// and cuts the snippets.
package search
