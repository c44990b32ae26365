# Completes the words of prenorm in fish:  prenorm completion fish | source
function __prenorm_words
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l program (string replace -r '^~/' $HOME/ -- $words[1])
    for line in ($program completion -- $words[2..-1] "$last" 2>/dev/null)
        if test "$line" = FILE
            set -l given (string match -r '^--[^=]*=' -- "$last")
            for file in (complete -C "'' "(string replace -- "$given" '' "$last"))
                echo "$given$file"
            end
        else
            echo $line
        end
    end
end
complete -c prenorm -f -a '(__prenorm_words)'
