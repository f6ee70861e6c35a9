package functions

import "github.com/hippofire/hippofire/hippo"

// LayoutEnv is the environment that makes functions use a layout.
func LayoutEnv(l hippo.Layout) map[string]string {
	return map[string]string{
		"HIPPOFIRE_NAMING":       string(l.Naming),
		"HIPPOFIRE_MEMORY_PATH":  l.Paths.Memory,
		"HIPPOFIRE_INDEX_PATH":   l.Paths.Index,
		"HIPPOFIRE_MOVE_PATH":    l.Paths.Move,
		"HIPPOFIRE_MESSAGE_PATH": l.Paths.Message,
		"HIPPOFIRE_EPISODE_PATH": l.Paths.Episode,
		"HIPPOFIRE_PASS_PATH":    l.Paths.Pass,
		"HIPPOFIRE_REPORT_PATH":  l.Paths.Report,

		"HIPPOFIRE_MEMORY_NAME_FIELD":        l.Fields.MemoryName,
		"HIPPOFIRE_MEMORY_CONTENT_FIELD":     l.Fields.MemoryContent,
		"HIPPOFIRE_MEMORY_UPDATED_AT_FIELD":  l.Fields.MemoryUpdatedAt,
		"HIPPOFIRE_MESSAGE_ROLE_FIELD":       l.Fields.MessageRole,
		"HIPPOFIRE_MESSAGE_CONTENT_FIELD":    l.Fields.MessageContent,
		"HIPPOFIRE_MESSAGE_CREATED_AT_FIELD": l.Fields.MessageCreatedAt,
	}
}
