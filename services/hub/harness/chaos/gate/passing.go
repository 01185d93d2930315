package gate

import (
	"errors"
	"io"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// passing is one call on its way, as far as it concerns transactions.
type passing struct {
	gate     *Gate
	client   *client
	method   string
	headers  metadata.MD
	database string
	tx       string // that is to be ended
}

type ofDatabase interface {
	proto.Message
	GetDatabase() string
	GetTransaction() []byte
}

type ofTransaction interface {
	proto.Message
	GetTransaction() []byte
}

// asked reads a request.
func (p *passing) asked(m []byte) {
	var req ofDatabase
	switch p.method {
	case "BatchGetDocuments":
		req = &firestorepb.BatchGetDocumentsRequest{}
	case "Commit":
		req = &firestorepb.CommitRequest{}
	case "Rollback":
		req = &firestorepb.RollbackRequest{}
	case "RunQuery":
		var q firestorepb.RunQueryRequest
		if proto.Unmarshal(m, &q) == nil {
			p.database = databaseOf(q.GetParent())
		}
		return
	default:
		return
	}
	if proto.Unmarshal(m, req) != nil {
		return // the emulator says what is wrong with it
	}
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	p.database = req.GetDatabase()
	if p.method != "BatchGetDocuments" {
		p.tx = string(req.GetTransaction())
		if o, known := p.client.open[p.tx]; known {
			o.committing = true
			p.client.open[p.tx] = o
		}
	}
}

// databaseOf is the database of a document's name: projects/P/databases/D.
func databaseOf(name string) string {
	slashes := 0
	for i := range len(name) {
		if name[i] == '/' {
			slashes++
		}
		if slashes == 4 {
			return name[:i]
		}
	}
	return name
}

// answered reads a response: the first one of a read may open a transaction.
func (p *passing) answered(m []byte) {
	var res ofTransaction
	switch p.method {
	case "BatchGetDocuments":
		res = &firestorepb.BatchGetDocumentsResponse{}
	case "RunQuery":
		res = &firestorepb.RunQueryResponse{}
	default:
		return
	}
	if proto.Unmarshal(m, res) != nil || len(res.GetTransaction()) == 0 {
		return
	}
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	o := opened{database: p.database, headers: p.headers}
	if p.client.gone {
		p.gate.giveUp(string(res.GetTransaction()), o)
		return
	}
	p.client.open[string(res.GetTransaction())] = o
}

// ended notes how the call did. A transaction is over by a commit that was made and by
// a rollback; one whose commit was refused may hold its locks still.
func (p *passing) ended(err error) {
	if p.tx == "" {
		return
	}
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	o, known := p.client.open[p.tx]
	switch {
	case errors.Is(err, io.EOF):
		delete(p.client.open, p.tx)
	case known && p.client.gone:
		p.gate.giveUp(p.tx, o)
	case known:
		o.committing = false
		p.client.open[p.tx] = o
	}
}
