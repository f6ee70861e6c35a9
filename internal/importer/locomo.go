package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
)

// Conversation is one conversation of the LoCoMo data set: a tenant with one
// thread of many sessions.
type Conversation struct {
	SampleID string
	SpeakerA string
	SpeakerB string
	Sessions []Session
	QA       []Question
}

// Session is what was said in one sitting, and what a memory pass made of it.
type Session struct {
	Number  int
	At      time.Time
	Turns   []Turn
	Facts   []Fact
	Summary string
}

// Turn is one message of a session.
type Turn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// Fact is what was learnt about a speaker, and from which turns.
type Fact struct {
	Speaker string
	Text    string
	Turns   []string
}

// Question is a question about a conversation, with the turns that answer it.
type Question struct {
	Question string   `json:"question"`
	Evidence []string `json:"evidence"`
	Category int      `json:"category"`
}

// LocomoThread is the one thread of an imported conversation.
const LocomoThread = "conversation"

// sessionTime is how LoCoMo writes when a session was; it gives no zone, and UTC
// is taken.
const sessionTime = "3:04 pm on 2 January, 2006"

// ReadLocomo reads the conversations of a LoCoMo file. Its errors name the
// conversation and the field.
func ReadLocomo(r io.Reader) ([]Conversation, error) {
	var raw []rawConversation
	if err := json.NewDecoder(r).Decode(&raw); err != nil {
		return nil, hippo.Wrap(hippo.Invalid, err, "the file is no LoCoMo data")
	}
	conversations := make([]Conversation, 0, len(raw))
	for i, c := range raw {
		read, err := c.read()
		if err != nil {
			return nil, hippo.Wrap(hippo.Invalid, err, fmt.Sprintf("conversation %d (%s)", i+1, c.SampleID))
		}
		conversations = append(conversations, read)
	}
	return conversations, nil
}

type rawConversation struct {
	SampleID     string                                  `json:"sample_id"`
	Conversation map[string]json.RawMessage              `json:"conversation"`
	QA           []Question                              `json:"qa"`
	Observation  map[string]map[string][]json.RawMessage `json:"observation"`
	Summary      map[string]string                       `json:"session_summary"`
}

func (raw rawConversation) read() (Conversation, error) {
	c := Conversation{SampleID: raw.SampleID, QA: raw.QA}
	if _, err := hippo.NewTenantID(raw.SampleID); err != nil {
		return c, hippo.InField(err, "sample_id")
	}
	for field, into := range map[string]*string{"speaker_a": &c.SpeakerA, "speaker_b": &c.SpeakerB} {
		if err := json.Unmarshal(raw.Conversation[field], into); err != nil {
			return c, hippo.Wrap(hippo.Invalid, err, field)
		}
	}
	for key, turns := range raw.Conversation {
		var n int
		if _, err := fmt.Sscanf(key, "session_%d", &n); err != nil || key != fmt.Sprintf("session_%d", n) {
			continue
		}
		s, err := raw.session(n, turns)
		if err != nil {
			return c, hippo.Wrap(hippo.Invalid, err, key)
		}
		c.Sessions = append(c.Sessions, s)
	}
	slices.SortFunc(c.Sessions, func(a, b Session) int { return a.Number - b.Number })
	return c, nil
}

func (raw rawConversation) session(n int, turns json.RawMessage) (Session, error) {
	s := Session{Number: n, Summary: raw.Summary[fmt.Sprintf("session_%d_summary", n)]}
	var when string
	if err := json.Unmarshal(raw.Conversation[fmt.Sprintf("session_%d_date_time", n)], &when); err != nil {
		return s, hippo.Wrap(hippo.Invalid, err, "date_time")
	}
	var err error
	if s.At, err = time.Parse(sessionTime, when); err != nil {
		return s, hippo.Wrap(hippo.Invalid, err, "date_time")
	}
	if err := json.Unmarshal(turns, &s.Turns); err != nil {
		return s, hippo.Wrap(hippo.Invalid, err, "turns")
	}
	about := raw.Observation[fmt.Sprintf("session_%d_observation", n)]
	for speaker, facts := range about {
		for _, f := range facts {
			fact, err := readFact(speaker, f)
			if err != nil {
				return s, err
			}
			s.Facts = append(s.Facts, fact)
		}
	}
	slices.SortStableFunc(s.Facts, func(a, b Fact) int { return strings.Compare(a.Speaker, b.Speaker) })
	return s, nil
}

// readFact reads a pair of a text and one turn or a list of them.
func readFact(speaker string, raw json.RawMessage) (Fact, error) {
	f := Fact{Speaker: speaker}
	var pair []json.RawMessage
	if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 || json.Unmarshal(pair[0], &f.Text) != nil {
		return f, hippo.Errorf(hippo.Invalid, "observation", "a fact is not a text and its turns")
	}
	var one string
	if json.Unmarshal(pair[1], &one) == nil {
		f.Turns = []string{one}
	} else if err := json.Unmarshal(pair[1], &f.Turns); err != nil {
		return f, hippo.Wrap(hippo.Invalid, err, "the turns of a fact")
	}
	return f, nil
}

// Messages are the session's turns as messages, one second apart.
func (c Conversation) Messages(s Session) []functions.Message {
	messages := make([]functions.Message, len(s.Turns))
	for i, t := range s.Turns {
		m := functions.Message{ID: t.ID, Role: string(hippo.User), Content: t.Text, Speaker: t.Speaker}
		if t.Speaker == c.SpeakerB {
			m.Role = string(hippo.Assistant)
		}
		if t.Caption != "" {
			m.Content = strings.TrimSpace(m.Content + " [" + t.Caption + "]")
		}
		m.CreatedAt = s.At.Add(time.Duration(i) * time.Second).Format(time.RFC3339)
		messages[i] = m
	}
	return messages
}

// Pass is what the memory pass filed about a session: a memory for each speaker
// with the facts about them, and the summary as the line.
func (c Conversation) Pass(s Session) episodewriter.Request {
	req := episodewriter.Request{
		Tenant: hippo.TenantID(c.SampleID), Thread: LocomoThread, Episode: s.Summary,
		From: hippo.MessageID(s.Turns[0].ID), To: hippo.MessageID(s.Turns[len(s.Turns)-1].ID),
	}
	for i, f := range s.Facts {
		if i == 0 || f.Speaker != s.Facts[i-1].Speaker {
			req.Writes = append(req.Writes, episodewriter.Write{Name: fmt.Sprintf("%s/session %02d", f.Speaker, s.Number)})
		}
		w := &req.Writes[len(req.Writes)-1]
		w.Content += fmt.Sprintf("- %s (%s)\n", f.Text, strings.Join(f.Turns, ", "))
	}
	return req
}

// Locomo imports conversations. What is there already stays as it is.
func Locomo(ctx context.Context, to Backend, conversations []Conversation, progress func(tenant string, done, of int)) (Summary, error) {
	var sum Summary
	for _, c := range conversations {
		for i, s := range c.Sessions {
			if len(s.Turns) == 0 {
				continue
			}
			if err := sum.save(ctx, to, c.SampleID, LocomoThread, c.Messages(s)); err != nil {
				return sum, fmt.Errorf("%s, session %d: %w", c.SampleID, s.Number, err)
			}
			if err := sum.record(ctx, to, c.Pass(s)); err != nil {
				return sum, fmt.Errorf("%s, session %d: %w", c.SampleID, s.Number, err)
			}
			progress(c.SampleID, i+1, len(c.Sessions))
		}
	}
	return sum, nil
}
