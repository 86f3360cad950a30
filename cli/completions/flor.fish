# Completion of `flor` in fish: asks the command itself.
function __flor_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete $words[2..] 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':directories'
                __fish_complete_directories (commandline -ct)
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c flor -f -a '(__flor_complete)'
