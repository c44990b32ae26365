# Completes the words of prenorm in bash:  eval "$(prenorm completion bash)"
_prenorm() {
  local program=${1/#\~\//$HOME/} line word words=() files
  # Bash takes --json=out apart, into three words.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ ${#words[@]} -gt 0 && ($word == = || ${words[-1]} == --*=) ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  local last=${words[-1]} given=
  [[ $last != --*=* ]] || given=${last%%=*}=
  COMPREPLY=()
  while read -r line; do
    if [[ $line == FILE ]]; then
      compopt -o filenames 2>/dev/null # a folder gets its slash, a blank its backslash
      mapfile -t files < <(compgen -f -- "${last#"$given"}")
      COMPREPLY+=("${files[@]}")
    else
      line=${line%%$'\t'*}
      COMPREPLY+=("${line#"$given"}")
    fi
  done < <("$program" completion -- "${words[@]}" 2>/dev/null)
}
complete -F _prenorm prenorm
