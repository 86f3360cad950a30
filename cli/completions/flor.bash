# Completion of `flor` in bash: asks the command itself.
_flor() {
  local line paths=
  COMPREPLY=()
  # Words as typed: bash itself splits them at '=' and ':'.
  local -a words
  local point=${COMP_LINE:0:COMP_POINT}
  read -ra words <<<"$point"
  [[ $point == *[[:space:]] ]] && words+=('')
  local current=${words[-1]}
  # What bash takes for the word: the part behind its last break.
  local shown=${current%"${COMP_WORDS[COMP_CWORD]}"}
  [[ ${COMP_WORDS[COMP_CWORD]} == '=' || ${COMP_WORDS[COMP_CWORD]} == ':' ]] && shown=$current
  while IFS= read -r line; do
    case $line in
      :files) paths=-f ;;
      :directories) paths=-d ;;
      *)
        line=${line%%$'\t'*}
        printf -v line %q "$line"
        COMPREPLY+=("${line#"$shown"}")
        ;;
    esac
  done < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
  # A run may be called linear~1, which is no user's home.
  COMPREPLY=("${COMPREPLY[@]//\\~/\~}")
  if [[ -n $paths ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done \
      < <(compgen "$paths" -- "${COMP_WORDS[COMP_CWORD]#=}")
  fi
}
complete -F _flor flor
