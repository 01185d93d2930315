package witness

import "fmt"

// fireFacts is what was told of one fire.
type fireFacts struct {
	words map[int64]word
	heard map[string]int64 // how far each follower is
}

type word struct{ author, text string }

func (b *Book) fire(id string) *fireFacts {
	if b.fires[id] == nil {
		b.fires[id] = &fireFacts{map[int64]word{}, map[string]int64{}}
	}
	return b.fires[id]
}

// Said notes a word at a fire. No two of a run share a text.
func (b *Book) Said(fire string, seq int64, author, text, requestID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fire(fire)
	if w, known := f.words[seq]; known && (w != word{author, text}) {
		b.violate(Once, requestID, "number %d at fire %s is %q and %q", seq, fire, w.text, text)
	}
	f.words[seq] = word{author, text}
}

// Follows notes that an agent reads what is said at a fire, from the beginning.
func (b *Book) Follows(fire, agent string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fire(fire).heard[agent] = 0
}

// Heard notes the next word that a follower read.
func (b *Book) Heard(fire, agent string, seq int64, requestID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fire(fire)
	if last := f.heard[agent]; seq != last+1 {
		b.violate(Delivered, requestID, "%s, who follows fire %s, read number %d after %d", agent, fire, seq, last)
	}
	f.heard[agent] = seq
}

func (a *audit) auditFires() {
	for id, f := range a.fires {
		head := a.doc("fires", id)
		if head == nil {
			a.violate(Kept, "", "fire %s is not in the store", id)
			continue
		}
		said, texts := map[string]bool{}, map[string]int{}
		n := int64(0)
		for ref, doc := range a.docs {
			if ref.Coll == "fires/"+id+"/fireMessages" {
				n++
				said[fmt.Sprint(number(doc, "seq"), " ", text(doc, "author"), " ", text(doc, "text"))] = true
				if texts[text(doc, "text")]++; texts[text(doc, "text")] == 2 {
					a.violate(Once, "", "%q was said once at fire %s and is there again", text(doc, "text"), id)
				}
			}
		}
		if last := number(head, "messages"); last != n {
			a.violate(Kept, "", "fire %s counts %d words and has %d", id, last, n)
		}
		for seq, w := range f.words {
			if a.checked["words at fires"]++; !said[fmt.Sprint(seq, " ", w.author, " ", w.text)] {
				a.violate(Kept, "", "%q of %s was acknowledged as number %d at fire %s, and is not there", w.text, w.author, seq, id)
			}
		}
		for agent, last := range f.heard {
			if last != n {
				a.violate(Delivered, "", "%s follows fire %s and heard %d of %d words", agent, id, last, n)
			}
		}
	}
}

// question is one that was asked, with what was told of its answer.
type question struct {
	asked             bool
	content, by       string
	answered          bool
	response, heard   string
	toldTheAsker      bool
	requestID, hearID string
}

func (b *Book) question(id string) *question {
	if b.questions[id] == nil {
		b.questions[id] = &question{}
	}
	return b.questions[id]
}

// Asked notes a question. No two of a run share a content.
func (b *Book) Asked(id, by, content string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.question(id)
	q.asked, q.by, q.content = true, by, content
}

// Answered notes that the human's answer was taken.
func (b *Book) Answered(id, response, requestID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.question(id)
	q.answered, q.response, q.requestID = true, response, requestID
}

// HeardAnswer notes what the asker was told.
func (b *Book) HeardAnswer(id, response, requestID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.question(id)
	q.toldTheAsker, q.heard, q.hearID = true, response, requestID
}

func (a *audit) auditQuestions() {
	docs := a.collection("tasks")
	contents := map[string][]string{}
	for id, f := range docs {
		if c := text(object(f, "question"), "content"); c != "" {
			contents[c] = append(contents[c], id)
		}
	}
	for id, q := range a.questions {
		if q.asked {
			a.checked["questions asked"]++
			if !a.single("question", q.content, id, contents[q.content]) {
				continue
			}
			a.expect("question "+id, docs[id], "source", q.by)
		}
		if q.answered {
			a.checked["questions answered"]++
			a.expect("the answered question "+id, docs[id], "status", "done")
			a.expect("the answered question "+id, object(docs[id], "question"), "response", q.response)
		}
		if got := text(object(docs[id], "question"), "response"); q.toldTheAsker && q.heard != got {
			a.violate(Kept, q.hearID, "%s was told %q as the answer to question %s, which is %q", q.by, q.heard, id, got)
		}
	}
}
