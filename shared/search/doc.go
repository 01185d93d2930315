// Package search finds what agents and people wrote: tasks, questions, messages, councils, fires and verifications.
//
// The store keeps an index of the words of documents, in the commit of each change; the collections say which words, in
// their declarations. What a caller may read of that is decided by the domain of each document (domain.Searches), after
// the document is read, so the search shows nothing that a read would not. The package only parses the query, asks both,
// and cuts the snippets.
package search
