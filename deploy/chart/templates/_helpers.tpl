{{- define "muniment.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "muniment.labels" -}}
{{ include "muniment.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "muniment.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "muniment.image" -}}
{{- $repository := required "image.repository is empty: name the repository that Muniment's image was pushed to" .Values.image.repository -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "muniment.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "muniment.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- /* The job runs before the chart's own account is made. */ -}}
{{- define "muniment.migrationServiceAccountName" -}}
{{- ternary "default" (include "muniment.serviceAccountName" .) .Values.serviceAccount.create -}}
{{- end -}}

{{- /* In: root, secret (its name in .Values.secrets). Out: one environment variable, by reference. */ -}}
{{- define "muniment.secretVariable" -}}
{{- $reference := index .root.Values.secrets .secret -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ required (printf "secrets.%s.name is empty: name the Secret that holds %s" .secret .variable) $reference.name }}
      key: {{ $reference.key }}
{{- end -}}

{{- /* What every process gets. Nothing here may let the API act as the owner. */ -}}
{{- define "muniment.sharedEnvironment" -}}
{{ include "muniment.secretVariable" (dict "root" . "secret" "databaseUrl" "variable" "DATABASE_URL") }}
{{ include "muniment.secretVariable" (dict "root" . "secret" "keyPepper" "variable" "MUNIMENT_KEY_PEPPER") }}
- name: MUNIMENT_EMBEDDING_PROVIDER
  value: {{ .Values.embedding.provider | quote }}
- name: MUNIMENT_LOG_LEVEL
  value: {{ .Values.log.level | quote }}
- name: MUNIMENT_LOG_FORMAT
  value: json
{{- end -}}

{{- define "muniment.ownerEnvironment" -}}
{{ include "muniment.secretVariable" (dict "root" . "secret" "ownerUrl" "variable" "MUNIMENT_OWNER_URL") }}
{{- end -}}

{{- /* In: root, resources. Out: those, or what the embedding provider needs. */ -}}
{{- define "muniment.resources" -}}
{{- if .resources -}}
{{ toYaml .resources }}
{{- else if eq .root.Values.embedding.provider "local" -}}
requests:
  cpu: 250m
  memory: 512Mi
limits:
  memory: 1Gi
{{- else -}}
requests:
  cpu: 100m
  memory: 256Mi
limits:
  memory: 512Mi
{{- end -}}
{{- end -}}

{{- /* The part of a pod that is the same for the API, the worker and the job. */ -}}
{{- define "muniment.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: 256Mi
{{- end -}}

{{- define "muniment.container" -}}
image: {{ include "muniment.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- end -}}
