package witness

import "fmt"

// fireFacts are the recorded facts about a campfire.
type fireFacts struct {
	posts map[int64]post   // by number
	read  map[string]int64 // the last number that each follower read
}

type post struct{ author, text string }

func (b *Book) fire(id string) *fireFacts {
	if b.fires[id] == nil {
		b.fires[id] = &fireFacts{map[int64]post{}, map[string]int64{}}
	}
	return b.fires[id]
}

// FirePosted records a message of a campfire with its number. Its text must be unique in the run.
func (b *Book) FirePosted(fire string, seq int64, author, text, requestID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fire(fire)
	if p, known := f.posts[seq]; known && (p != post{author, text}) {
		b.violate(Once, requestID, "number %d at fire %s is %q and %q", seq, fire, p.text, text)
	}
	f.posts[seq] = post{author, text}
}

// Follows records that an agent reads all messages of a campfire.
func (b *Book) Follows(fire, agent string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fire(fire).read[agent] = 0
}

// FireRead records the number of the next message that a follower read.
func (b *Book) FireRead(fire, agent string, seq int64, requestID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fire(fire)
	if last := f.read[agent]; seq != last+1 {
		b.violate(Delivered, requestID, "%s, who follows fire %s, read number %d after %d", agent, fire, seq, last)
	}
	f.read[agent] = seq
}

func (a *audit) auditFires() {
	for id, f := range a.fires {
		head := a.doc("fires", id)
		if head == nil {
			a.violate(Kept, "", "fire %s is not in the store", id)
			continue
		}
		stored, texts := map[string]bool{}, map[string]int{}
		n := int64(0)
		for ref, doc := range a.docs {
			if ref.Coll == "fires/"+id+"/fireMessages" {
				n++
				stored[fmt.Sprint(number(doc, "seq"), " ", text(doc, "author"), " ", text(doc, "text"))] = true
				if texts[text(doc, "text")]++; texts[text(doc, "text")] == 2 {
					a.violate(Once, "", "%q was posted once to fire %s and is stored again", text(doc, "text"), id)
				}
			}
		}
		if last := number(head, "messages"); last != n {
			a.violate(Kept, "", "fire %s counts %d messages and has %d", id, last, n)
		}
		for seq, p := range f.posts {
			if a.checked["fire messages"]++; !stored[fmt.Sprint(seq, " ", p.author, " ", p.text)] {
				a.violate(Kept, "", "%q of %s was acknowledged as number %d at fire %s, and is not in the store",
					p.text, p.author, seq, id)
			}
		}
		for agent, last := range f.read {
			if last != n {
				a.violate(Delivered, "", "%s follows fire %s and read %d of %d messages", agent, id, last, n)
			}
		}
	}
}

// question is a question with the answer as the human sent it and as the asker read it.
type question struct {
	asked, answered, wasRead bool
	content, by              string
	response, read           string
	readID                   string // the request by which the asker read the answer
}

func (b *Book) question(id string) *question {
	if b.questions[id] == nil {
		b.questions[id] = &question{}
	}
	return b.questions[id]
}

// Asked records an acknowledged question. Its content must be unique in the run.
func (b *Book) Asked(id, by, content string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.question(id)
	q.asked, q.by, q.content = true, by, content
}

// Answered records that an answer of the human was acknowledged.
func (b *Book) Answered(id, response string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.question(id)
	q.answered, q.response = true, response
}

// AnswerRead records the answer that the asker read.
func (b *Book) AnswerRead(id, response, requestID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.question(id)
	q.wasRead, q.read, q.readID = true, response, requestID
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
		if got := text(object(docs[id], "question"), "response"); q.wasRead && q.read != got {
			a.violate(Kept, q.readID, "%s read %q as the answer to question %s, but the store has %q",
				q.by, q.read, id, got)
		}
	}
}
