#compdef prenorm
# Completes the words of prenorm in zsh:  eval "$(prenorm completion zsh)", below compinit
_prenorm() {
  local program=${~words[1]} word meaning files=
  local -a found
  while IFS=$'\t' read -r word meaning; do
    if [[ $word == FILE ]]; then
      files=1
    else
      found+=("${word//:/\\:}${meaning:+:$meaning}")
    fi
  done < <("$program" completion -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe prenorm found
  if [[ -n $files ]]; then
    compset -P '--*='
    _files
  fi
}
if [[ ${funcstack[1]} == _prenorm ]]; then
  _prenorm "$@" # the file was loaded as this function
else
  compdef _prenorm prenorm
fi
