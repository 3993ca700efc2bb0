# The one container that is hurt (numbers: cpuwait/kubepods-throttled).
perfbox triage --root @kubepods-throttled
perfbox triage --root @kubepods-throttled --json
