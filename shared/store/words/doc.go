// Package words splits texts into words, parses the queries of a search, and finds the matches of a query in a text.
//
// Every index of texts is built from these words and every query is made of them, so that all stores find the same. A
// word is a run of letters and digits, compared without case and without accents; a Chinese or Japanese character is a
// word of its own, because these scripts have no spaces. The package contains pure functions.
package words
