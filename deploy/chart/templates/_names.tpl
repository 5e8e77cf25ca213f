{{- define "harness.name" -}}
{{- if eq .Release.Name .Chart.Name }}{{ .Chart.Name }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- define "harness.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "harness.labels" -}}
{{ include "harness.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
{{- define "harness.hosts" -}}
{{- $name := include "harness.name" . -}}
{{ $name }},{{ $name }}.{{ .Release.Namespace }},{{ $name }}.{{ .Release.Namespace }}.svc,{{ $name }}.{{ .Release.Namespace }}.svc.cluster.local
{{- if .Values.ingress.enabled }},{{ .Values.ingress.host }}{{ end }}
{{- end }}
